// Test support: any message a decoder could hand us, made from the descriptors. Every field is set or not, oneofs with and
// without a case, numbers over their whole range, enums of a newer contract.
import { create, type DescField, type DescMessage, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";

const LIST_ENTRIES = 3;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

export function arbitraryMessage<Desc extends DescMessage>(desc: Desc): fc.Arbitrary<MessageShape<Desc>> {
  return fc
    .tuple(
      fc.tuple(...desc.fields.filter((field) => field.oneof === undefined).map(optionalField)),
      fc.tuple(...desc.oneofs.map((oneof) => fc.option(fc.oneof(...oneof.fields.map(oneofField(oneof.localName)))))),
    )
    .map(([fields, oneofs]) => {
      const init = Object.fromEntries([...fields, ...oneofs].filter((entry) => entry !== null));
      return create(desc, init as Parameters<typeof create<Desc>>[1]);
    });
}

type Entry = [string, unknown];

function optionalField(field: DescField): fc.Arbitrary<Entry | null> {
  return fc.option(fieldValue(field).map((value): Entry => [field.localName, value]));
}

function oneofField(oneof: string): (field: DescField) => fc.Arbitrary<Entry> {
  return (field) => fieldValue(field).map((value): Entry => [oneof, { case: field.localName, value }]);
}

function fieldValue(field: DescField): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case "scalar":
      return scalarValue(field.scalar);
    case "enum":
      return enumValue();
    case "message":
      return arbitraryMessage(field.message);
    case "list": {
      const element =
        field.listKind === "message"
          ? arbitraryMessage(field.message)
          : field.listKind === "enum"
            ? enumValue()
            : scalarValue(field.scalar);
      return fc.array(element as fc.Arbitrary<unknown>, { maxLength: LIST_ENTRIES });
    }
    case "map": {
      const value: fc.Arbitrary<unknown> =
        field.mapKind === "message"
          ? arbitraryMessage(field.message)
          : field.mapKind === "enum"
            ? enumValue()
            : scalarValue(field.scalar);
      return fc.dictionary(text(), value, { maxKeys: LIST_ENTRIES });
    }
  }
}

function scalarValue(scalar: ScalarType): fc.Arbitrary<unknown> {
  switch (scalar) {
    case ScalarType.STRING:
      return text();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 64 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return fc.bigInt({ min: INT64_MIN, max: INT64_MAX });
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.nat({ max: 2 ** 32 - 1 });
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return fc.integer();
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return fc.float();
  }
}

function enumValue(): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer());
}

/** As a decoder makes it: UTF-8 has no lone surrogates. Control characters and long texts included. */
function text(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }).map((each) => each.toWellFormed()),
    fc.string(),
  );
}
