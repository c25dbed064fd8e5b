// What agents say, as far as we read it. Everything is checked here, and nothing is taken for granted that ACP calls
// optional; fields nobody reads are left out.

import { z } from "zod";

/** ACP writes "nothing" as null or not at all. */
const optional = <Shape extends z.ZodType>(shape: Shape) => shape.nullish().transform((value) => value ?? undefined);
const text = z.string();
const anything = z.unknown().optional();
const count = z.number().int().nonnegative();

export const contentBlockShape = z.union([
  z.object({ type: z.literal("text"), text }),
  z.object({ type: z.literal("image"), data: text, mimeType: text, uri: optional(text) }),
  z.object({ type: z.literal("audio"), data: text, mimeType: text }),
  z.object({
    type: z.literal("resource_link"),
    uri: text,
    name: text,
    title: optional(text),
    description: optional(text),
    mimeType: optional(text),
    size: optional(count),
  }),
  z.object({
    type: z.literal("resource"),
    resource: z.union([
      z.object({ uri: text, mimeType: optional(text), text }),
      z.object({ uri: text, mimeType: optional(text), blob: text }),
    ]),
  }),
]);

export const toolContentShape = z.union([
  z.object({ type: z.literal("content"), content: contentBlockShape }),
  z.object({ type: z.literal("diff"), path: text, oldText: optional(text), newText: text }),
  z.object({ type: z.literal("terminal"), terminalId: text }),
]);

export const locationShape = z.object({ path: text, line: optional(count.max(0xffff_ffff)) });

/** An announcement, an update, or what a permission request shows of a call: they differ in what must be there. */
export const toolCallShape = z.object({
  toolCallId: text,
  title: optional(text),
  name: optional(text),
  kind: optional(text),
  status: optional(text),
  content: optional(z.array(z.unknown())),
  locations: optional(z.array(z.unknown())),
  rawInput: anything,
  rawOutput: anything,
});

/** The record keeps every option of every gate, so one request brings only so many. */
export const OPTIONS = 16;
export const OPTION_TEXT_CHARACTERS = 256;

const option = z.object({
  optionId: text.max(OPTION_TEXT_CHARACTERS),
  // For people: agents put whole commands into it. An id is the agent's to be answered with, and is never cut.
  name: text.transform((name) => name.slice(0, OPTION_TEXT_CHARACTERS)),
  kind: z.enum(["allow_once", "allow_always", "reject_once", "reject_always"]),
});

export const permissionRequestShape = z.object({
  sessionId: text,
  toolCall: toolCallShape,
  options: z.array(option).max(OPTIONS),
});

export const updateNotificationShape = z.object({
  sessionId: text,
  update: z.looseObject({ sessionUpdate: text }),
});

export const chunkShape = z.object({ content: contentBlockShape });

export const planShape = z.object({
  entries: z.array(z.object({ content: text, priority: optional(text), status: optional(text) })),
});

/** `used`: tokens in the agent's context. */
export const usageUpdateShape = z.object({ used: count });

export const initializeShape = z.object({
  protocolVersion: z.number(),
  agentCapabilities: optional(
    z.object({
      loadSession: optional(z.boolean()),
      mcpCapabilities: optional(z.object({ http: optional(z.boolean()), sse: optional(z.boolean()) })),
      sessionCapabilities: optional(z.object({ resume: anything })),
    }),
  ),
});

const choice = z.object({ value: text, name: optional(text) });

/** The part of a new or loaded session's response that says what can be chosen; a loaded one's may be null. */
export const sessionShape = optional(
  z.object({
    modes: optional(z.object({ availableModes: z.array(z.object({ id: text, name: optional(text) })) })),
    configOptions: optional(
      z.array(
        z.looseObject({
          id: text,
          category: optional(text),
          options: anything,
        }),
      ),
    ),
  }),
);

/** A select's options: plain, or in groups. */
export const choicesShape = z.array(z.union([choice, z.object({ options: z.array(choice) })]));

export const newSessionShape = z.object({ sessionId: text.min(1) });

export const promptResponseShape = z.object({
  stopReason: z.enum(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]),
  usage: optional(
    z.object({ inputTokens: optional(count), outputTokens: optional(count), totalTokens: optional(count) }),
  ).catch(undefined),
});
