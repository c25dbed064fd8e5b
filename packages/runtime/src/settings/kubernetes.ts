// Variables that Kubernetes injects for a Service named `holdfast` or `holdfast-…`. They begin like ours and are not
// ours: they are passed over, also where their name is that of a setting (HOLDFAST_PORT=tcp://10.0.0.1:7420).

const SERVICE = /^HOLDFAST(_[A-Z0-9]+)*_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$/;
const PORT_DETAIL = /^HOLDFAST(_[A-Z0-9]+)*_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;
const PORT = /^HOLDFAST(_[A-Z0-9]+)*_PORT$/;
const PORT_VALUE = /^(tcp|udp|sctp):\/\/\S+:\d+$/;

export function isInjectedByKubernetes(name: string, value: string): boolean {
  if (SERVICE.test(name) || PORT_DETAIL.test(name)) return true;
  return PORT.test(name) && PORT_VALUE.test(value);
}
