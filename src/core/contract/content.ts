/** One part of a result that a model reads. */
export type Content =
  | {
      readonly type: "text";
      readonly text: string;
      /** The part is Handrail's own words, so it stays outside the boundary around text of others. */
      readonly own?: true;
    }
  /** `data` is base64; `mimeType` is image/png, image/jpeg, image/gif or image/webp: the types that models accept. */
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  /** `data` is base64. MCP clients get the sound; models read its type and size. */
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  | ResourceContent;

/** A resource with its content. MCP clients get it whole; models read the text, or the type and size of the bytes. */
export type ResourceContent = { readonly type: "resource"; readonly uri: string; readonly mimeType?: string } & (
  | { readonly text: string }
  /** In base64. */
  | { readonly blob: string }
);

/** Makes a text part. */
export function text(value: string): Content {
  return { type: "text", text: value };
}

/** Makes a text part with words of our own for the model, such as where the rest of a page is saved. */
export function notice(value: string): Content {
  return { type: "text", text: value, own: true };
}

/** A part whose text a model reads. */
export type Readable = Extract<Content, { readonly text: string }>;

/** Whether a model reads the part as text. */
export function isReadable(part: Content): part is Readable {
  return "text" in part;
}

/** Returns the part with another text, no longer as words of our own. */
export function withText(part: Readable, value: string): Content {
  return part.type === "text" ? text(value) : { ...part, text: value };
}
