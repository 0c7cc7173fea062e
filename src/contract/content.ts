/** One part of a result that a model reads. */
export type Content =
  | { readonly type: "text"; readonly text: string }
  /** `data` is base64; `mimeType` is image/png, image/jpeg, image/gif or image/webp, which models accept. */
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** Makes a text part. */
export function text(value: string): Content {
  return { type: "text", text: value };
}
