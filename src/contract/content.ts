/** One part of what a model reads. */
export type Content =
  | { readonly type: "text"; readonly text: string }
  /** `data` is base64; `mimeType` is one a model takes: image/png, image/jpeg, image/gif, image/webp. */
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

/** A text part. */
export function text(value: string): Content {
  return { type: "text", text: value };
}
