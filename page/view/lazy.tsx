import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

/** Loads a component when it is first shown. Shows that it is loading after 300 ms. */
export function Lazy({ load, title }: { readonly load: () => Promise<ComponentType>; readonly title: string }) {
  const loaded = useSignal<{ readonly Part: ComponentType } | undefined>(undefined);
  const words = useSignal("");
  useEffect(() => {
    let isGone = false;
    loaded.value = undefined;
    words.value = "";
    const timer = setTimeout(() => (words.value ||= `Loading ${title}`), 300);
    load().then(
      (Part) => {
        if (!isGone) loaded.value = { Part };
      },
      () => (words.value = `${title} could not be loaded. Reload the page.`),
    );
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [load]);
  const { value } = loaded;
  return value === undefined ? <p class="none">{words.value}</p> : <value.Part />;
}
