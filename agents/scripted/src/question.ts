// `ask QUESTION`: a form with one text field, by ACP's elicitation. An answer runs nothing; it is only repeated.

import { type CreateElicitationResponse, methods } from "@agentclientprotocol/sdk";
import type { Stage } from "./stage.ts";

/** The form's only field. */
const ANSWER_FIELD = "answer";

export async function ask(stage: Stage, question: string): Promise<void> {
  const { client, session, turn, offers, voice } = stage;
  if (!offers.elicitation?.form) return voice.say("this client does not offer questions (elicitation.form)");
  try {
    const response = await client.request(
      methods.client.elicitation.create,
      {
        mode: "form",
        sessionId: session.id,
        message: question,
        requestedSchema: {
          type: "object",
          properties: { [ANSWER_FIELD]: { type: "string", title: "Answer" } },
          required: [ANSWER_FIELD],
        },
      },
      { cancellationSignal: turn.signal, stopWaitingOnCancel: true },
    );
    await voice.say(told(response));
  } catch (error) {
    // Withdrawn because the turn was stopped: the script looks for that itself.
    if (!turn.signal.aborted) throw error;
  }
}

function told(response: CreateElicitationResponse): string {
  if (response.action !== "accept") return `question: ${response.action}`;
  const { content } = response as { content?: Record<string, unknown> | null };
  return `answer: ${String(content?.[ANSWER_FIELD] ?? "")}`;
}
