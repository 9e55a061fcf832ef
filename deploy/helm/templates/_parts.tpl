{{- define "till.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "till.labels" -}}
app.kubernetes.io/name: till
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "till.metadata" -}}
labels:
  {{- include "till.labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{/* What every pod has in common: it may do nothing that Till does not need. */}}
{{- define "till.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "till.container" -}}
{{- if and (ne .root.Values.settings.CONSOLE "off") (not .root.Values.settings.PUBLIC_URL) }}
{{- fail "settings.PUBLIC_URL is required, unless settings.CONSOLE is off" }}
{{- end }}
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
resources: {{ toYaml .resources | nindent 2 }}
env:
  {{- range $name, $value := .root.Values.settings }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
  - { name: ROLE, value: {{ .role }} }
  - { name: PORT, value: '3000' }
  - { name: HOST, value: 0.0.0.0 }
{{- end }}
