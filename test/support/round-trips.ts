import type { Backend, Files, OpenFile } from "../../src/contract/backend.ts";

/** A backend whose look-ups are answered in rounds, as on a host far away where what is asked in one moment travels together. */
export interface FarBackend {
  readonly backend: Backend;
  /** What was asked for in each round that has been answered since the last `reset`: `["realPath /ws/a", "stat /ws/b"]`. */
  rounds(): readonly (readonly string[])[];
  /** Waits for what is still on its way, and forgets all. */
  reset(): Promise<void>;
}

/**
 * Counts rounds of look-ups at files: all that are begun before any of them is answered are one. They really are looked up; the answers of a round
 * come back together, when all are there, in a later turn of the event loop. Closing a file takes a round too. What writes is no look-up and is
 * not counted.
 */
export function farBackend(inner: Backend): FarBackend {
  const answeredRounds: (readonly string[])[] = [];
  let open: Round | undefined;

  const begin = (): Round => {
    const round: Round = { asked: [], working: [], answered: Promise.resolve() };
    // The next turn: by then all is asked for that does not depend on an answer.
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
    work.catch(() => undefined); // heard when the round is answered
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

/** Also of what is asked for while the others are still worked on. */
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
