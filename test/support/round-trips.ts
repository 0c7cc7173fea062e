import type { Backend, Files, OpenFile } from "../../src/core/contract/backend.ts";

/** A backend whose look-ups are answered in rounds, as on a distant host, where concurrent requests travel together. */
export interface FarBackend {
  readonly backend: Backend;
  /** The requests of each answered round since the last `reset`: `["realPath /ws/a", "stat /ws/b"]`. */
  rounds(): readonly (readonly string[])[];
  /** Waits for pending requests, and clears the rounds. */
  reset(): Promise<void>;
}

/**
 * Counts rounds of look-ups of files: all that start before any of them is answered are one round. The look-ups are
 * real. The answers of a round are delivered together in a later turn of the event loop. Closing a file takes a round
 * too. Writes are not counted.
 */
export function farBackend(inner: Backend): FarBackend {
  const answeredRounds: (readonly string[])[] = [];
  let open: Round | undefined;

  const begin = (): Round => {
    const round: Round = { asked: [], working: [], answered: Promise.resolve() };
    // In the next turn, everything that does not depend on an answer has been requested.
    round.answered = nextTurn()
      .then(() => whenAllDone(round))
      .then(() => {
        open = undefined;
        answeredRounds.push(round.asked);
      });
    return round;
  };

  const lookUp = <Answer>(what: string, ask: () => Promise<Answer>): Promise<Answer> => {
    const { asked, working, answered } = (open ??= begin());
    const work = ask();
    work.catch(() => undefined); // reported when the round is answered
    asked.push(what);
    working.push(work);
    return answered.then(() => work);
  };

  const far = (file: OpenFile, path: string): OpenFile => ({
    info: file.info,
    read: (offset, length) => lookUp(`read ${path}`, () => file.read(offset, length)),
    close: () => lookUp(`close ${path}`, () => file.close()),
  });

  const { files } = inner;
  const counted: Files = {
    realPath: (path) => lookUp(`realPath ${path}`, () => files.realPath(path)),
    stat: (path, options) => lookUp(`stat ${path}`, () => files.stat(path, options)),
    open: async (path, options) => far(await lookUp(`open ${path}`, () => files.open(path, options)), path),
    list: (path, options) => lookUp(`list ${path}`, () => files.list(path, options)),
    write: (path, bytes, options) => files.write(path, bytes, options),
    remove: (path, options) => files.remove(path, options),
  };

  return {
    backend: {
      name: inner.name,
      isFar: true,
      workDir: inner.workDir,
      home: inner.home,
      ...(inner.programFolders !== undefined && { programFolders: inner.programFolders }),
      files: counted,
      spawn: (command) => inner.spawn(command),
      search: (query) => inner.search(query),
      find: (query) => inner.find(query),
      close: () => inner.close(),
    },
    rounds: () => [...answeredRounds],
    async reset() {
      while (open !== undefined) await open.answered;
      answeredRounds.length = 0;
    },
  };
}

interface Round {
  readonly asked: string[];
  readonly working: Promise<unknown>[];
  answered: Promise<unknown>;
}

/** Includes requests that are made while others are being processed. */
async function whenAllDone({ working }: Round): Promise<void> {
  let done = 0;
  while (done < working.length) {
    done = working.length;
    await Promise.allSettled(working);
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
