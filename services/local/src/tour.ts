// What `npm start` prints when everything is there: a tour that can be pasted line by line into another terminal.

export type Tour = {
  /** host:port of the gateway. */
  readonly address: string;
  readonly data: string;
  /** Callers need a credential: the tour asks for one. */
  readonly needsToken: boolean;
};

export function tour({ address, data, needsToken }: Tour): string {
  return `
Holdfast is ready: gRPC, gRPC-Web and Connect on http://${address}
Data and logs are in ${data}

Try it in another terminal, from this directory, line by line:

${tourLines(address, needsToken)
  .map(({ says, line }) => `  # ${says}\n  ${line}\n`)
  .join("\n")}
Ctrl-C ends everything; the data stays for the next start.
`;
}

/** One step of the tour: what it shows, and the line to paste. Each line is tested as it is printed. */
type TourLine = { readonly says: string; readonly line: string };

function tourLines(address: string, needsToken: boolean): readonly TourLine[] {
  const credential = needsToken ? ` -H "authorization: Bearer $TOKEN"` : "";
  const stream = `npx buf curl --protocol grpc --http2-prior-knowledge${credential}`;
  const json = `curl -s -H 'content-type: application/json'${credential}`;
  const service = `http://${address}/holdfast.v1.SessionService`;
  return [
    ...(needsToken
      ? [{ says: "one of the tokens whose digest is in HOLDFAST_TOKENS_FILE", line: "read -rs TOKEN" }]
      : []),
    {
      says: "three ways to call: hf streams over gRPC, ask sends one JSON request, state tells how a session is",
      line: `hf() { ${stream} -d "$2" "${service}/$1"; }; ask() { ${json} -d "$2" "${service}/$1"; echo; }; state() { ask GetSession "{\\"sessionId\\":\\"$1\\"}" | node -p 'const { state, pid } = JSON.parse(require("fs").readFileSync(0, "utf8")).session; state + ", agent process " + (pid ?? "none")'; }`,
    },
    {
      says: "a turn: the agent speaks, asks to run a command, and parks",
      line: `hf RunTurn '{"session_id":"demo","agent":"scripted","prompt":[{"text":{"text":"say hello\\nrun date >> proof.txt && cat proof.txt\\nsay done"}}]}'; state demo`,
    },
    {
      says: "the inbox: what waits for a human; keep the gate's id",
      line: `GATE=$(ask ListApprovals '{"filter":{"sessionId":"demo"}}' | node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).gates[0].gateId'); echo "$GATE"`,
    },
    {
      says: "an answer that matches nothing is refused; the session stays parked, with the same process",
      line: `ask RespondApproval '{"sessionId":"demo","gateId":"gate_nonsense","verdict":"VERDICT_ALLOW"}'; state demo`,
    },
    {
      says: "the answer: the held call runs, in the same process",
      line: `ask RespondApproval "{\\"sessionId\\":\\"demo\\",\\"gateId\\":\\"$GATE\\",\\"verdict\\":\\"VERDICT_ALLOW\\"}"; state demo`,
    },
    {
      says: "the same answer again: a duplicate, with the same ids, and what became of it",
      line: `ask RespondApproval "{\\"sessionId\\":\\"demo\\",\\"gateId\\":\\"$GATE\\",\\"verdict\\":\\"VERDICT_ALLOW\\"}"`,
    },
    {
      says: "what happened, from the first event on; then it would wait for more",
      line: `timeout 5 ${stream} -d '{"session_id":"demo"}' ${service}/WatchSession`,
    },
    {
      says: "another turn parks, and Stop ends it: the command does not run",
      line: `hf RunTurn '{"session_id":"demo","prompt":[{"text":{"text":"run rm proof.txt"}}]}'; ask CancelTurn '{"sessionId":"demo"}'; state demo`,
    },
    {
      says: "the next turn runs in the process that was there all the time: TIER_WARM, and the same number",
      line: `hf RunTurn '{"session_id":"demo","prompt":[{"text":{"text":"pid"}}]}'; state demo`,
    },
  ];
}
