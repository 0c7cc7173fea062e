import { useId } from "preact/hooks";
import { Safe, safeText } from "../text/safe.tsx";
import { Icon } from "../view/icons.tsx";
import { type Entered, type Field, pathIn } from "./schema.ts";

interface FieldProps<F extends Field = Field> {
  readonly field: F;
  /** The path that problems use: `edits[0].old_text`. */
  readonly path: string;
  readonly entered: Entered;
  readonly problems: ReadonlyMap<string, string>;
  readonly onEnter: (entered: Entered) => void;
}

type Of<K extends Field["kind"]> = Extract<Field, { kind: K }>;

/** A field with its name, its description, and its problem. */
export function FieldView(props: FieldProps) {
  const { field, path, problems } = props;
  const id = useId();
  const problem = problems.get(path);
  const described = [field.description !== "" && `${id}-d`, problem !== undefined && `${id}-p`].filter(Boolean);
  const control = {
    id,
    "aria-invalid": problem !== undefined,
    "aria-required": field.isRequired,
    "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
    "data-field": path,
  } as const;
  const isGroup = field.kind === "list" || field.kind === "object";
  const notes = (
    <>
      {field.description !== "" && (
        <p class="means meta free" id={`${id}-d`}>
          <Safe text={field.description} />
        </p>
      )}
      {problem !== undefined && (
        <p class="problem" id={`${id}-p`}>
          <Icon name="fail" />
          <Safe in="span" text={problem} />
        </p>
      )}
    </>
  );
  if (isGroup) {
    return (
      <div class="field group" role="group" aria-labelledby={`${id}-n`} {...control}>
        <div class="title flex">
          <Name field={field} id={`${id}-n`} />
          {field.kind === "list" && <Add {...props} field={field} />}
        </div>
        {notes}
        <div class="nested">
          {field.kind === "list" ? <List {...props} field={field} /> : <Fields {...props} field={field} />}
        </div>
      </div>
    );
  }
  if (field.kind === "boolean") {
    return (
      <div class="field check">
        <input
          {...control}
          type="checkbox"
          checked={typeof props.entered === "boolean" ? props.entered : field.default === true}
          onChange={({ currentTarget }) => props.onEnter(currentTarget.checked)}
        />
        <div>
          <Name field={field} of={id} />
          {notes}
        </div>
      </div>
    );
  }
  return (
    <div class="field">
      <Name field={field} of={id} />
      <Control {...props} control={control} />
      {notes}
    </div>
  );
}

/** All fields of an object. */
export function Fields({ field, path, entered, problems, onEnter }: FieldProps<Of<"object">>) {
  const isGiven = typeof entered === "object" && !Array.isArray(entered);
  const given = isGiven ? (entered as { readonly [name: string]: Entered }) : {};
  return (
    <>
      {field.fields.map((each) => (
        <FieldView
          key={each.name}
          field={each}
          path={pathIn(path, each.name)}
          entered={given[each.name]}
          problems={problems}
          onEnter={(value) => onEnter({ ...given, [each.name]: value })}
        />
      ))}
    </>
  );
}

function Add({ field, entered, onEnter }: FieldProps<Of<"list">>) {
  return (
    <button type="button" class="btn bare" onClick={() => onEnter([...itemsOf(entered), undefined])}>
      <Icon name="plus" />
      Add
      <span class="vh"> to {safeText(field.name)}</span>
    </button>
  );
}

function itemsOf(entered: Entered): readonly Entered[] {
  return Array.isArray(entered) ? (entered as readonly Entered[]) : [];
}

function List({ field, path, entered, problems, onEnter }: FieldProps<Of<"list">>) {
  const items = itemsOf(entered);
  return (
    <>
      {items.map((each, index) => (
        <div class="item" key={index}>
          <FieldView
            field={field.item}
            path={pathIn(path, index)}
            entered={each}
            problems={problems}
            onEnter={(value) => onEnter(items.with(index, value))}
          />
          <button
            type="button"
            class="ib"
            aria-label={`Remove ${safeText(pathIn(path, index))}`}
            onClick={() => onEnter(items.toSpliced(index, 1))}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </>
  );
}

function Name({ field, id, of }: { readonly field: Field; readonly id?: string; readonly of?: string }) {
  const words = (
    <>
      <code>{field.name === "" ? "item" : <Safe text={field.name} />}</code>
      {field.isRequired && <span class="meta">required</span>}
    </>
  );
  return of === undefined ? (
    <p class="label" id={id}>
      {words}
    </p>
  ) : (
    <label class="label" for={of}>
      {words}
    </label>
  );
}

function Control({ field, entered, onEnter, control }: FieldProps & { readonly control: object }) {
  const text = typeof entered === "string" ? entered : "";
  const enter = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    onEnter(currentTarget.value);
  const placeholder = field.default === undefined ? "" : safeText(valueText(field.default));
  if (field.kind === "choice") {
    const none = field.default === undefined ? "Not set" : `Default: ${valueText(field.default)}`;
    return (
      <select {...control} class="ctl" value={text} onChange={enter}>
        <option value="">{field.isRequired ? "Choose" : safeText(none)}</option>
        {field.values.map((value, index) => (
          <option key={index} value={String(index)}>
            {value === "" ? "(empty)" : safeText(valueText(value))}
          </option>
        ))}
      </select>
    );
  }
  if (field.kind === "number") {
    return (
      <input
        {...{ ...control, placeholder }}
        class="ctl mono short"
        inputMode="decimal"
        autoComplete="off"
        value={text}
        onInput={enter}
      />
    );
  }
  return (
    <textarea
      {...{ ...control, placeholder: field.kind === "json" && placeholder === "" ? "JSON" : placeholder }}
      class="ctl mono"
      rows={field.kind === "json" ? 3 : 1}
      spellcheck={false}
      autocapitalize="off"
      value={text}
      onInput={enter}
    />
  );
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
