import type { LanguageModelV3Prompt } from "@ai-sdk/provider";
import { text } from "../core/contract/content.ts";
import type { Message } from "../core/contract/message.ts";
import type { Transcript } from "./transcript.ts";

/** Whether a request has a picture or another file. */
export function hasPictures(prompt: LanguageModelV3Prompt): boolean {
  return prompt.some(({ content }) => typeof content !== "string" && content.some(({ type }) => type === "file"));
}

/**
 * Replaces the pictures of a conversation by a note, in memory, because the provider refused one: otherwise it would
 * refuse every later request. Returns whether there were any.
 */
export function removePictures(transcript: Pick<Transcript, "messages" | "replace">): boolean {
  let removed = false;
  const without = transcript.messages.map((message): Message => {
    if (message.role === "assistant" || !message.content.some(({ type }) => type === "image")) return message;
    removed = true;
    return { ...message, content: message.content.map((part) => (part.type === "image" ? text(NOTE) : part)) };
  });
  if (removed) transcript.replace(without);
  return removed;
}

const NOTE =
  "[An image was here. The model's provider refused a request with images, so they were removed: you cannot see them. " +
  "Say so, and continue with what can be read as text.]";
