/** One part of a result that a model reads. */
export type Content =
  | {
      readonly type: "text";
      readonly text: string;
      /** The part is Handrail's own words, so it stays outside the boundary around text of others. */
      readonly own?: true;
    }
  /** `data` is base64; `mimeType` is image/png, image/jpeg, image/gif or image/webp: the types that models accept. */
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** Makes a text part. */
export function text(value: string): Content {
  return { type: "text", text: value };
}

/** Makes a text part with words of our own for the model, such as where the rest of a page is saved. */
export function notice(value: string): Content {
  return { type: "text", text: value, own: true };
}
