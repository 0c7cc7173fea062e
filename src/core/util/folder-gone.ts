/** What to do about a working folder that does not exist any more. */
export const FOLDER_GONE_HINT =
  "It was removed or renamed. Make it again (write a file into it), or ask the user to start in another folder.";
