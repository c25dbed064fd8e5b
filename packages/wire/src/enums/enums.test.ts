import {
  COLD_REASONS,
  DISPOSITIONS,
  EVICTION_REASONS,
  GATE_CLOSE_REASONS,
  GATE_REFUSED_REASONS,
  MOOT_REASONS,
  OPTION_KINDS,
  OUTCOMES,
  REFUSAL_REASONS,
  SESSION_STATES,
  TIERS,
  VERDICTS,
} from "@holdfast/pool";
import {
  DispositionSchema,
  ErrorReasonSchema,
  FallReasonSchema,
  FollowSchema,
  GateCloseReasonSchema,
  GateRefusedReasonSchema,
  GateStateSchema,
  IfBusySchema,
  MootReasonSchema,
  OnDisconnectSchema,
  OptionKindSchema,
  OutcomeSchema,
  PermissionEffectSchema,
  RoleSchema,
  SessionStateSchema,
  TierSchema,
  VerdictSchema,
} from "@holdfast/proto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { enumTable } from "./enum-table.ts";
import { errorReasons } from "./error-reason.ts";
import * as gate from "./gate.ts";
import * as request from "./request.ts";
import * as turn from "./turn.ts";

const TABLES = [
  { name: "verdict", table: gate.verdicts, list: VERDICTS, schema: VerdictSchema },
  { name: "option kind", table: gate.optionKinds, list: OPTION_KINDS, schema: OptionKindSchema },
  { name: "disposition", table: gate.dispositions, list: DISPOSITIONS, schema: DispositionSchema },
  { name: "moot reason", table: gate.mootReasons, list: MOOT_REASONS, schema: MootReasonSchema },
  { name: "close reason", table: gate.gateCloseReasons, list: GATE_CLOSE_REASONS, schema: GateCloseReasonSchema },
  { name: "gate refused", table: gate.gateRefusedReasons, list: GATE_REFUSED_REASONS, schema: GateRefusedReasonSchema },
  { name: "gate state", table: gate.gateStates, list: gate.gateStates.names, schema: GateStateSchema },
  { name: "tier", table: turn.tiers, list: TIERS, schema: TierSchema },
  { name: "cold reason", table: turn.fallReasons, list: COLD_REASONS, schema: FallReasonSchema },
  { name: "outcome", table: turn.outcomes, list: OUTCOMES, schema: OutcomeSchema },
  { name: "session state", table: turn.sessionStates, list: SESSION_STATES, schema: SessionStateSchema },
  { name: "if_busy", table: request.ifBusyChoices, list: request.ifBusyChoices.names, schema: IfBusySchema },
  {
    name: "on_disconnect",
    table: request.onDisconnectChoices,
    list: request.onDisconnectChoices.names,
    schema: OnDisconnectSchema,
  },
  { name: "follow", table: request.followChoices, list: request.followChoices.names, schema: FollowSchema },
  { name: "role", table: request.roles, list: request.roles.names, schema: RoleSchema },
  {
    name: "effect",
    table: request.permissionEffects,
    list: request.permissionEffects.names,
    schema: PermissionEffectSchema,
  },
  { name: "error reason", table: errorReasons, list: REFUSAL_REASONS, schema: ErrorReasonSchema },
] as const;

describe("an enum table", () => {
  test.each(TABLES)("$name: every name of the pool's list has a value of the contract, and comes back", (entry) => {
    const table = entry.table as ReturnType<typeof enumTable<string, number>>;
    for (const name of entry.list) {
      const value = table.toWire(name);
      expect(entry.schema.values.find((each) => each.number === value)?.localName).toBe(name.toUpperCase());
      expect(table.fromWire(value)).toBe(name);
    }
    expect([...table.names].sort()).toEqual([...entry.list].sort());
  });

  test.each(TABLES)("$name: a number outside the table is null, whatever it is", (entry) => {
    const table = entry.table as ReturnType<typeof enumTable<string, number>>;
    const known = new Set(table.names.map((name) => table.toWire(name)));
    fc.assert(
      fc.property(fc.integer(), (value) => {
        expect(table.fromWire(value) === null).toBe(!known.has(value));
      }),
    );
    expect(table.fromWire(0)).toBeNull();
  });

  test("every eviction reason is a fall reason of the contract", () => {
    for (const reason of EVICTION_REASONS) expect(turn.fallReasons.toWire(reason)).toBeGreaterThan(0);
  });

  test("a table in which two names share a value, or a name has 0, is refused when it is built", () => {
    expect(() => enumTable({ one: 1, other: 1 })).toThrow("T2");
    expect(() => enumTable({ none: 0 })).toThrow("T2");
  });
});
