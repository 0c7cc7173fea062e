import type { ComponentChildren } from "preact";
import { useAction } from "../state/action.ts";
import { post } from "../state/api.ts";
import { isConnected } from "../state/model.ts";
import { Icon } from "./icons.tsx";

interface StopButtonProps {
  /** The path of the request that stops it. */
  readonly path: string;
  readonly children: ComponentChildren;
}

/** Stops a call or an agent. Shows why if that fails. */
export function StopButton({ path, children }: StopButtonProps) {
  const { failure, attempt } = useAction();
  return (
    <>
      {failure.value !== "" && <span class="problem">{failure.value}</span>}
      <button class="btn" data-stop="" disabled={!isConnected.value} onClick={() => void attempt(() => post(path))}>
        <Icon name="stop" />
        {children}
      </button>
    </>
  );
}
