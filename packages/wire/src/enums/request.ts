// What a caller may choose in a request. Where UNSPECIFIED has a default, the default stands in validate/.
import { Follow, IfBusy, OnDisconnect, PermissionEffect, Role } from "@holdfast/proto";
import { enumTable } from "./enum-table.ts";

/** What RunTurn does when a turn is in progress (A9). */
export type IfBusyName = "reject" | "interrupt";
export const ifBusyChoices = enumTable<IfBusyName, IfBusy>({
  reject: IfBusy.REJECT,
  interrupt: IfBusy.INTERRUPT,
});

/** What the going of RunTurn's client does to the turn (A11). */
export type OnDisconnectName = "detach" | "cancel";
export const onDisconnectChoices = enumTable<OnDisconnectName, OnDisconnect>({
  detach: OnDisconnect.DETACH,
  cancel: OnDisconnect.CANCEL,
});

/** How long a RunTurn stream goes on (A19). */
export type FollowName = "until_parked" | "until_ended";
export const followChoices = enumTable<FollowName, Follow>({
  until_parked: Follow.UNTIL_PARKED,
  until_ended: Follow.UNTIL_ENDED,
});

export type RoleName = "user" | "assistant";
export const roles = enumTable<RoleName, Role>({
  user: Role.USER,
  assistant: Role.ASSISTANT,
});

export type PermissionEffectName = "ask" | "allow" | "reject";
export const permissionEffects = enumTable<PermissionEffectName, PermissionEffect>({
  ask: PermissionEffect.ASK,
  allow: PermissionEffect.ALLOW,
  reject: PermissionEffect.REJECT,
});
