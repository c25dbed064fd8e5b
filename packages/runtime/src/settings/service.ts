// Settings of a service as a whole: where it listens, where its data and credentials are, what it tells.

import { address, host, integer, oneOf, path, port, urls, word } from "./kinds.ts";
import { optional, setting } from "./setting.ts";

const RUNNERS_MAX = 64;

export const SERVICE_SETTINGS = {
  host: setting(
    "HOLDFAST_HOST",
    host(),
    "127.0.0.1",
    "Where the service listens. An address that other machines reach needs credentials: HOLDFAST_TOKENS_FILE on a gateway, HOLDFAST_GATEWAY_TOKEN_FILE on a runner.",
  ),
  port: setting(
    "HOLDFAST_PORT",
    port(),
    "7420",
    "The gateway's one port for gRPC, gRPC-Web and Connect; 0 takes a free one.",
  ),
  dataDir: setting(
    "HOLDFAST_DATA_DIR",
    path(),
    ".holdfast",
    "Directory of the embedded store, of the sessions' directories and of the runners' locks.",
  ),
  runners: setting(
    "HOLDFAST_RUNNERS",
    integer({ min: 1, max: RUNNERS_MAX }),
    "2",
    "How many runners the launcher starts beside its gateway.",
  ),
  natsUrl: optional(
    "HOLDFAST_NATS_URL",
    urls(["nats", "tls", "ws", "wss"]),
    "NATS servers, separated by commas; refused at start by this version. Unset: the embedded store in HOLDFAST_DATA_DIR.",
  ),
  natsCredsFile: optional("HOLDFAST_NATS_CREDS", path(), "NATS credentials file; needs HOLDFAST_NATS_URL."),
  tokensFile: optional(
    "HOLDFAST_TOKENS_FILE",
    path(),
    "Maps the SHA-256 of each bearer token to its project, principal and roles; read again when it changes. Unset: loopback only, everything is project `default` with role admin.",
  ),
  gatewayTokenFile: optional(
    "HOLDFAST_GATEWAY_TOKEN_FILE",
    path(),
    "The secret by which runners know their gateways; the same file on both.",
  ),
  agentsFile: optional("HOLDFAST_AGENTS_FILE", path(), "The agent catalogue (YAML). Unset: the scripted agent alone."),
  runnerName: optional(
    "HOLDFAST_RUNNER_NAME",
    word(),
    "A runner's name, the key of its lease: stable over restarts, and no other runner's. Unset: the host's name.",
  ),
  runnerAddress: optional(
    "HOLDFAST_RUNNER_ADDRESS",
    address(),
    "`host:port` at which gateways reach this runner, which listens on that port of HOLDFAST_HOST. Unset: a free port of HOLDFAST_HOST.",
  ),
  log: setting(
    "HOLDFAST_LOG",
    oneOf(["json", "pretty"]),
    "json",
    "`json`: one object a line, for machines. `pretty`: for people.",
  ),
  logLevel: setting(
    "HOLDFAST_LOG_LEVEL",
    oneOf(["debug", "info", "warn", "error"]),
    "info",
    "The least important lines that are written.",
  ),
  metricsHost: setting("HOLDFAST_METRICS_HOST", host(), "127.0.0.1", "Where the Prometheus scrape port listens."),
  metricsPort: optional(
    "HOLDFAST_METRICS_PORT",
    port(),
    "Serves `/metrics` for Prometheus on this port; 0 takes a free one. Unset: not served.",
  ),
};
