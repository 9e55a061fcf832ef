import { effect, signal } from '@preact/signals';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

/** Unlike the API key, this may outlive the tab. */
const storageName = 'till-theme';

const theme = signal<Theme>(themes.find((one) => one === localStorage.getItem(storageName)) ?? 'system');

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  localStorage.setItem(storageName, theme.value);
});

export function setTheme(value: Theme): void {
  theme.value = value;
}

export function ThemeButton() {
  return (
    <label class="theme">
      <span class="visually-hidden">Colours</span>
      <select
        value={theme.value}
        onChange={({ currentTarget }) => {
          theme.value = themes.find((one) => one === currentTarget.value) ?? 'system';
        }}
      >
        <option value="system">System</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}
