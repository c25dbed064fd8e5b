// The shape of a catalogue file. Unknown keys are errors: a misspelt `secrets` must not start an agent without them.

import { z } from "zod";
import { markers } from "../process/index.ts";
import { HOST_PLACEHOLDERS, PLACEHOLDERS, unknownPlaceholders } from "./placeholders.ts";

/** Agents in one catalogue. */
const AGENTS_MAX = 64;
/** Arguments, variables, files, secrets or roots of one agent. */
const ENTRIES_MAX = 256;
/** A file's content, an argument, a variable's value. */
const TEXT_MAX_CHARACTERS = 256 * 1024;

const templateOf = (placeholders: readonly string[]) =>
  z
    .string()
    .max(TEXT_MAX_CHARACTERS)
    .superRefine((text, context) => {
      for (const written of unknownPlaceholders(text, placeholders)) {
        context.addIssue({ code: "custom", message: `there is no placeholder ${written} here` });
      }
      if (text.includes("\0")) context.addIssue({ code: "custom", message: "holds a NUL character" });
    });

/** For what is filled in when an agent starts. */
const template = templateOf(PLACEHOLDERS);
/** For what has to be known before there is a session. */
const hostPath = templateOf(HOST_PLACEHOLDERS).min(1);

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is no name of an environment variable")
  .refine((name) => !markers.names.includes(name), "is the runner's own variable");

const filePath = template.min(1).refine((path) => !path.split("/").includes(".."), "must not go up by ..");

const secret = z.union([
  hostPath.transform((file) => ({ file, env: null })),
  z.strictObject({ file: hostPath, env: variable }),
]);

export const agentShape = z
  .strictObject({
    /** What callers name it by. */
    name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be 1 to 64 of A-Z a-z 0-9 . _ -"),
    /** A program: a path, or a name in the runner's PATH. */
    command: template.min(1),
    args: z.array(template).max(ENTRIES_MAX).default([]),
    env: z.record(variable, template).default({}),
    /** Written before every start, below the session's home, or below `${directory}`. */
    files: z
      .array(z.strictObject({ path: filePath, content: template }))
      .max(ENTRIES_MAX)
      .default([]),
    /** Its sessions can be brought back by session/resume or session/load. */
    load: z.boolean().default(false),
    /** By name: the file that holds the value, and the variable it goes to (the name itself, when only a file is given). */
    secrets: z.record(z.string().min(1).max(128), secret).default({}),
    /** For sessions that name none; "" leaves the agent its own. */
    mode: z.string().default(""),
    model: z.string().default(""),
    /** `append`: the agent takes instructions as `_meta.systemPrompt.append`; `none`: a session that has some is refused. */
    system_prompt: z.enum(["none", "append"]).default("none"),
    /** Directories below which a session may work. */
    roots: z.array(hostPath).max(ENTRIES_MAX).default([]),
  })
  .superRefine(({ secrets }, context) => {
    for (const [name, { env }] of Object.entries(secrets)) {
      if (env === null && !variable.safeParse(name).success) {
        context.addIssue({
          code: "custom",
          path: ["secrets", name],
          message: "needs `env`: its name is no variable's",
        });
      }
    }
  });

export type AgentShape = z.output<typeof agentShape>;

export const catalogueShape = z
  .strictObject({ agents: z.array(agentShape).min(1).max(AGENTS_MAX) })
  .superRefine(({ agents }, context) => {
    const names = agents.map(({ name }) => name);
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) < index) {
        context.addIssue({
          code: "custom",
          path: ["agents", index, "name"],
          message: `there are two agents named ${name}`,
        });
      }
    }
  });
