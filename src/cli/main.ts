// The fast path: nothing is imported that is not needed to answer.
if (process.argv.length === 3 && (process.argv[2] === "--version" || process.argv[2] === "-V")) {
  process.stdout.write(`${__VERSION__}\n`);
} else {
  const { main } = await import("./program.ts");
  await main(process.argv.slice(2));
}
