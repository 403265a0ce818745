{{- define "bridge.name" -}}{{ .Values.nameOverride | default "penstock-bridge" }}{{- end }}

{{- define "bridge.labels" -}}
app.kubernetes.io/part-of: penstock
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}
