// The collector of what is wrong with a request. Every check of a request writes into one, so that a caller sees all of it
// at once.
//
// V1  A violation names its field by its path in the proto (`prompt[3].text.text`, `labels["x"]`, `limits.idle_ttl`).
// V2  A violation never quotes a value of the request: it may be a secret. Keys of maps are quoted, cut.
import type { FieldViolation, Refusal } from "@holdfast/pool";
import { refusal } from "@holdfast/pool";
import { VIOLATIONS_LISTED } from "./limits.ts";

/** A request that holds, as a plain value; or the refusal that says all that is wrong with it. */
export type Validated<T> = { readonly value: T } | { readonly refusal: Refusal };

const MAP_KEY_CHARACTERS = 64;

export class Violations {
  readonly #found: FieldViolation[] = [];

  add(field: string, description: string): void {
    if (this.#found.length < VIOLATIONS_LISTED) this.#found.push({ field, description });
    else if (this.#found.length === VIOLATIONS_LISTED)
      this.#found.push({ field: "", description: "more were left out" });
  }

  /** Adds the violation unless the condition holds; tells whether it held. */
  check(holds: boolean, field: string, description: string): boolean {
    if (!holds) this.add(field, description);
    return holds;
  }

  get none(): boolean {
    return this.#found.length === 0;
  }

  /** The value if nothing was wrong. `value` is made only then. */
  settle<T>(rpc: string, value: () => T): Validated<T> {
    return this.none ? { value: value() } : { refusal: this.#refusal(rpc) };
  }

  #refusal(rpc: string): Refusal {
    const fields = this.#found.slice(0, 3).map((each) => `${each.field} ${each.description}`);
    const more = this.#found.length > fields.length ? `, and ${this.#found.length - fields.length} more` : "";
    return {
      ...refusal(
        "FIELD_INVALID",
        `${rpc} has invalid fields: ${fields.join("; ")}${more}.`,
        "Correct the fields named in BadRequest and send the request again. Nothing was written.",
        { rpc },
      ),
      violations: this.#found,
    };
  }
}

/** `labels["x"]`: a path into a map. */
export function atKey(field: string, key: string): string {
  const short = key.length <= MAP_KEY_CHARACTERS ? key : `${key.slice(0, MAP_KEY_CHARACTERS)}...`;
  return `${field}[${JSON.stringify(short.toWellFormed())}]`;
}
