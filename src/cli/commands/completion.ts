import { defineCommand } from '../command.ts';
import { completionScript, type Shell, shells } from '../completion.ts';

export const completion = defineCommand({
  name: 'completion',
  summary: 'print a script that completes commands and options in a shell',
  positionals: [{ name: 'SHELL', about: `one of: ${shells.join(', ')}`, choices: shells }],
  details: `bash: source <(till completion bash), in ~/.bashrc
zsh:  source <(till completion zsh), in ~/.zshrc, after compinit
fish: till completion fish > ~/.config/fish/completions/till.fish`,
  run: async ({ positionals, commands, output }) => {
    // The parser has checked that it is one of them.
    const shell = positionals[0] as Shell;
    const script = completionScript(shell, commands);
    output.result({ shell, script }, script.trimEnd());
  },
});
