import { KEYS } from "../state/keys.ts";

/** The list of keys, opened by pressing `?`. */
export function Keys() {
  return (
    <dialog class="keys" aria-labelledby="keys-title">
      <form method="dialog">
        <h2 id="keys-title">Keys</h2>
        <dl>
          {KEYS.map(([keys, does]) => (
            <div key={keys}>
              <dt>
                {keys.split(" ").map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <button class="btn">Close</button>
      </form>
    </dialog>
  );
}
