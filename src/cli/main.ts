// The reader has gone (| head): nothing more to say to anyone. Whatever runs is still brought to its end.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") return;
  process.exitCode = 1;
  process.stderr.write(`handrail: cannot write to stdout: ${error.message}\n`);
});
process.stderr.on("error", () => undefined); // there is nowhere left to tell it

// The fast path: nothing is imported that is not needed to answer.
if (process.argv.length === 3 && (process.argv[2] === "--version" || process.argv[2] === "-V")) {
  process.stdout.write(`${__VERSION__}\n`);
} else {
  const { main } = await import("./program.ts");
  await main(process.argv.slice(2));
}
