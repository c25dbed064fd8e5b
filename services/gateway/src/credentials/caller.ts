// Who calls, and what that gives them the right to. Project, principal and roles come from the credential alone; nothing in
// a request or in another header ever changes them.

/** What a credential allows. `admin` is everything. */
export const ROLES = ["run", "approve", "watch", "admin"] as const;
export type Role = (typeof ROLES)[number];

export type Caller = {
  /** The tenant: every session the caller sees belongs to it. */
  readonly project: string;
  /** Kept with every answer and Stop. */
  readonly principal: string;
  readonly roles: ReadonlySet<Role>;
};

export function hasRole({ roles }: Caller, role: Role): boolean {
  return roles.has(role) || roles.has("admin");
}

/** An admin is shown what others are not: the process id of an agent. */
export function isAdmin({ roles }: Caller): boolean {
  return roles.has("admin");
}
