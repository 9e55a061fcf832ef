export type WorldLog = (level: 'info' | 'warn' | 'error', fields: object, message: string) => void;
