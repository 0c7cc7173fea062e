/** One part of a result that a model reads. */
export type Content =
  | {
      readonly type: "text";
      readonly text: string;
      /** Handrail's own words, in the result of a tool that returns text of others: they stay outside its boundary. */
      readonly own?: true;
    }
  /** `data` is base64; `mimeType` is image/png, image/jpeg, image/gif or image/webp, which models accept. */
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** Makes a text part. */
export function text(value: string): Content {
  return { type: "text", text: value };
}

/** Makes a text part with words of our own for the model, such as where the rest of a page is saved. */
export function notice(value: string): Content {
  return { type: "text", text: value, own: true };
}
