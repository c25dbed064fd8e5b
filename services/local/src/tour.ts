// What `npm start` prints: where everything is, and a tour that can be pasted line by line into another terminal.

export type Tour = {
  /** host:port of the gateway. */
  readonly address: string;
  readonly runners: readonly string[];
  readonly data: string;
};

export function tour({ address, runners, data }: Tour): string {
  return `
Holdfast is ready.

  gateway   http://${address}   gRPC, gRPC-Web and Connect on one port
  runners   ${runners.join(", ")}
  data      ${data}   (logs in ${data}/logs)

Try it in another terminal, from this directory, line by line:

${tourLines(address)
  .map(({ says, line }) => `  # ${says}\n  ${line}\n`)
  .join("\n")}
Ctrl-C ends everything; the data stays for the next start.
`;
}

/** One step of the tour: what it shows, and the line to paste. Each line is tested as it is. */
export type TourLine = { readonly says: string; readonly line: string };

export function tourLines(address: string): readonly TourLine[] {
  return [
    {
      says: "two ways to call: hf streams over gRPC, ask sends one JSON request",
      line: `hf() { npx buf curl --protocol grpc --http2-prior-knowledge -d "$2" "http://${address}/holdfast.v1.SessionService/$1"; }; ask() { curl -s "http://${address}/holdfast.v1.SessionService/$1" -H 'content-type: application/json' -d "$2"; echo; }`,
    },
    {
      says: "a turn: the agent speaks, asks to run a command, and parks",
      line: `hf RunTurn '{"session_id":"demo","agent":"scripted","prompt":[{"text":{"text":"say hello\\nrun date >> proof.txt && cat proof.txt\\nsay done"}}]}'`,
    },
    {
      says: "the inbox: what waits for a human; keep the gate's id",
      line: `GATE=$(ask ListApprovals '{}' | node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).gates[0].gateId'); echo "$GATE"`,
    },
    {
      says: "an answer that matches nothing is refused; the session stays parked, with the same pid",
      line: `ask RespondApproval '{"sessionId":"demo","gateId":"gate_nonsense","verdict":"VERDICT_ALLOW"}'; ask GetSession '{"sessionId":"demo"}' | node -p 'const { state, pid } = JSON.parse(require("fs").readFileSync(0, "utf8")).session; state + " " + pid'`,
    },
    {
      says: "the answer: the held call runs, in the same process",
      line: `ask RespondApproval "{\\"sessionId\\":\\"demo\\",\\"gateId\\":\\"$GATE\\",\\"verdict\\":\\"VERDICT_ALLOW\\"}"`,
    },
    {
      says: "the same answer again: a duplicate, with the same ids, and what became of it",
      line: `ask RespondApproval "{\\"sessionId\\":\\"demo\\",\\"gateId\\":\\"$GATE\\",\\"verdict\\":\\"VERDICT_ALLOW\\"}"`,
    },
    {
      says: "what happened, from the first event on (Ctrl-C leaves)",
      line: `timeout 2 npx buf curl --protocol grpc --http2-prior-knowledge -d '{"session_id":"demo"}' http://${address}/holdfast.v1.SessionService/WatchSession`,
    },
    {
      says: "another turn parks; Stop ends it, nothing runs, and the process stays warm",
      line: `hf RunTurn '{"session_id":"demo","prompt":[{"text":{"text":"run rm proof.txt"}}]}'; ask CancelTurn '{"sessionId":"demo"}'; ask GetSession '{"sessionId":"demo"}'`,
    },
  ];
}
