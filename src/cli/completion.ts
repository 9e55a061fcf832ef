import { type Command, commonOptions, type Option } from './command.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** What a shell offers after the words of a command, or of the beginning of one. */
interface Place {
  /** Empty at the beginning. */
  readonly words: string;
  readonly next: readonly Suggestion[];
  readonly options: readonly (Suggestion & { readonly option: Option })[];
  readonly firstPositional: readonly string[];
  /** Whether the first positional is a file or a folder, which the shell completes itself. */
  readonly takesPath: boolean;
}

interface Suggestion {
  readonly word: string;
  readonly about: string;
}

/** The script that makes a shell complete the commands and options of `till`. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const places = placesOf(commands);
  if (shell === 'bash') return bashScript(places);
  return shell === 'zsh' ? zshScript(places) : fishScript(places);
}

/** The beginning, every group of commands and every command. */
function placesOf(commands: readonly Command[]): readonly Place[] {
  const names = new Set(['', ...commands.flatMap(({ name }) => [name.replace(/ .*/, ''), name])]);
  return [...names].map((words) => {
    const command = commands.find(({ name }) => name === words);
    const options = { ...command?.options, ...commonOptions };
    return {
      words,
      next: nextWords(words, commands),
      options: Object.entries(options).map(([name, option]) => ({
        word: `--${name}`,
        about: option.about,
        option,
      })),
      firstPositional: command?.positionals[0]?.choices ?? [],
      takesPath: pathNames.includes(command?.positionals[0]?.name ?? ''),
    };
  });
}

function nextWords(words: string, commands: readonly Command[]): readonly Suggestion[] {
  const start = words === '' ? '' : `${words} `;
  const found = new Map<string, string>();
  for (const { name, summary } of commands) {
    if (!name.startsWith(start)) continue;
    const [word = '', more] = name.slice(start.length).split(' ');
    // A group that is no command itself has the verbs as its text.
    const about = more === undefined ? summary : [found.get(word), more].filter(Boolean).join(', ');
    if (more === undefined || !commands.some((command) => command.name === start + word))
      found.set(word, about);
  }
  return [...found].map(([word, about]) => ({ word, about }));
}

/** What the usage shows for files and folders. */
const pathNames: readonly string[] = ['FILE', 'FOLDER'];

function isPath(option: Option): boolean {
  return option.type === 'string' && pathNames.includes(option.value);
}

function choicesOf(option: Option): readonly string[] {
  return option.type === 'string' ? (option.choices ?? []) : [];
}

function takesValue({ option }: { readonly option: Option }): boolean {
  return option.type === 'string';
}

function bashScript(places: readonly Place[]): string {
  const known = places.filter(({ words }) => words !== '').map(({ words }) => `' ${words}'`);
  const values = places.flatMap(({ words, options }) =>
    options.filter(takesValue).map(({ word, option }) => {
      const reply = isPath(option)
        ? `COMPREPLY=($(compgen -f -- "$current"))`
        : `COMPREPLY=($(compgen -W '${choicesOf(option).join(' ')}' -- "$current"))`;
      return `    '${words}:${word}') ${reply}; return ;;`;
    }),
  );
  const words = places.map((place) => {
    const offered = [...place.next, ...place.options].map(({ word }) => word);
    const files = place.takesPath ? ' files=yes' : '';
    return `    '${place.words}') offered='${[...place.firstPositional, ...offered].join(' ')}'${files} ;;`;
  });
  return `# Completion of till for bash. Load it with: source <(till completion bash)
_till() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command= offered= files= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${command:+ $command} \${COMP_WORDS[i]}" in
      ${known.join('|')}) command="\${command:+$command }\${COMP_WORDS[i]}" ;;
    esac
  done
  # bash splits --option=value at the equals sign.
  [[ $current == '=' ]] && current=
  [[ $previous == '=' ]] && previous=\${COMP_WORDS[COMP_CWORD-2]}
  case "$command:$previous" in
${values.join('\n')}
  esac
  case $command in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
  [[ -z $files ]] || COMPREPLY+=($(compgen -f -- "$current"))
}
complete -F _till till
`;
}

function zshScript(places: readonly Place[]): string {
  const known = places.filter(({ words }) => words !== '').map(({ words }) => `' ${words}'`);
  const values = places.flatMap(({ words, options }) =>
    options.filter(takesValue).map(({ word, option }) => {
      const reply = isPath(option) ? '_files' : `compadd -- ${choicesOf(option).join(' ')}`;
      return `    '${words}:${word}') ${reply}; return ;;`;
    }),
  );
  const offered = places.map((place) => {
    const lines = [...place.next, ...place.options].map(({ word, about }) => zshText(`${word}:${about}`));
    const files = place.takesPath ? ' _files;' : '';
    return `    '${place.words}')${files} offered=(${[...place.firstPositional, ...lines].join(' ')}) ;;`;
  });
  return `#compdef till
# Completion of till for zsh. Load it with: source <(till completion zsh)
_till() {
  local command= word
  local -a offered
  for word in \${words[2,CURRENT-1]}; do
    case "\${command:+ $command} $word" in
      ${known.join('|')}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command:\${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case $command in
${offered.join('\n')}
  esac
  _describe 'till' offered
}
compdef _till till
`;
}

function zshText(text: string): string {
  const [word = '', ...about] = text.split(':');
  return quoted(`${word}:${about.join('\\:')}`);
}

function fishScript(places: readonly Place[]): string {
  const known = places.filter(({ words }) => words !== '').map(({ words }) => quoted(words));
  const lines = places.flatMap(({ words, next, options, firstPositional, takesPath }) => {
    const at = `complete -c till -n "__till_at '${words}'"`;
    return [
      ...next.map(({ word, about }) => `${at} -f -a ${word} -d ${quoted(about)}`),
      ...firstPositional.map((word) => `${at} -f -a ${word}`),
      ...(takesPath ? [`${at} -F`] : []),
      ...options.map(({ word, about, option }) => {
        const value = takesValue({ option }) ? (isPath(option) ? ' -r -F' : ` -x${fishChoices(option)}`) : '';
        return `${at} -l ${word.slice(2)}${value} -d ${quoted(about)}`;
      }),
    ];
  });
  return `# Completion of till for fish. Load it with: till completion fish | source
function __till_at
  set -l command ''
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim "$command $word")
    contains -- $longer ${known.join(' ')}; and set command $longer
  end
  test "$command" = "$argv[1]"
end
complete -c till -f
${lines.join('\n')}
`;
}

function fishChoices(option: Option): string {
  const choices = choicesOf(option);
  return choices.length === 0 ? '' : ` -a ${quoted(choices.join(' '))}`;
}

/** All three shells take a text between single quotes as it is. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`;
}
