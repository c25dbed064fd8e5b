// Carries out one command of the language. What needs more than a few lines has a file of its own: calls.ts for everything
// that runs a CMD, noise.ts, question.ts, process.ts for what the process does to itself.

import { batch, exitGated, run, runAll, runAllHeld } from "./calls.ts";
import type { Command } from "./language.ts";
import { makeNoise } from "./noise.ts";
import { flood, leaveGrandchild, sleep, writeToStderr } from "./process.ts";
import { ask } from "./question.ts";
import type { Stage } from "./stage.ts";

export async function perform(command: Command, stage: Stage): Promise<void> {
  const { voice, session, turn } = stage;
  switch (command.kind) {
    case "say":
    case "echo":
      return voice.say(command.text);
    case "think":
      return voice.think(command.text);
    case "run":
      return run(stage, command.command);
    case "both":
      return runAll(stage, [command.first, command.second]);
    case "both-held":
      return runAllHeld(stage, [command.first, command.second]);
    case "batch":
      return batch(stage, command.first, command.second);
    case "twice":
      return runAll(stage, [command.command, command.command]);
    case "gates":
      return runAll(stage, new Array<string>(command.count).fill(command.command));
    case "ask":
      return ask(stage, command.question);
    case "sleep":
      return sleep(stage, command.ms);
    case "flood":
      return flood(stage, command.count);
    case "exit":
      return process.exit(command.code);
    case "exit-gated":
      return exitGated(stage, command.command);
    case "ignore-cancel":
      return turn.ignoreCancel(command.ms);
    case "noise":
      await makeNoise(stage, command.noise, command.sizeMib);
      return voice.say(`noise ${command.noise} done`);
    case "stderr":
      await writeToStderr(stage, command.sizeMib);
      return voice.say(`stderr ${command.sizeMib} done`);
    case "grandchild":
      return voice.say(await leaveGrandchild(command.seconds));
    case "remember":
      return voice.say(
        session.remember(command.key, command.value) ? `remembered ${command.key}` : "nothing more can be remembered",
      );
    case "recall":
      return voice.say(known(command.key, session.recall(command.key)));
    case "env":
      return voice.say(known(command.name, process.env[command.name]));
    case "pid":
      return voice.say(`pid ${process.pid}`);
  }
}

function known(name: string, value: string | undefined): string {
  return value === undefined ? `${name} is not set` : `${name}=${value}`;
}
