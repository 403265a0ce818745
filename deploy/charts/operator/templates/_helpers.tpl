{{- define "operator.name" -}}{{ .Values.nameOverride | default "penstock-operator" }}{{- end }}
{{- define "operator.webhook" -}}{{ include "operator.name" . | trimSuffix "-operator" }}-webhook{{- end }}

{{- /* The namespaces that are served, with commas; nothing: all. */}}
{{- define "operator.namespaces" -}}
{{- $names := list }}
{{- range splitList "," (printf "%s,%s" .Values.operator.namespace .Values.operator.namespaces) }}
{{- with trim . }}
{{- $names = append $names . }}
{{- end }}
{{- end }}
{{- join "," (uniq $names) }}
{{- end }}

{{- define "operator.labels" -}}
app.kubernetes.io/part-of: penstock
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "operator.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* What a pod of ours may not do, and where it goes. */}}
{{- define "operator.podSpec" -}}
securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .of.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .of.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .of.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "operator.confined" -}}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}

{{- define "operator.verbosity" -}}
{{ dig .Values.operator.logLevel "" (dict "info" "" "verbose" "-v" "debug" "-vv") }}
{{- end }}

{{- define "operator.rules" -}}
- apiGroups: [operator.penstock, slinky.slurm.net]
  resources: [controllers, nodesets, accountings, restapis, loginsets, tokens]
  verbs: [list, watch]
- apiGroups: [operator.penstock, slinky.slurm.net]
  resources: [controllers/status, nodesets/status, accountings/status, restapis/status, loginsets/status, tokens/status]
  verbs: [patch]
- apiGroups: [operator.penstock, slinky.slurm.net]
  resources: [nodesets, nodesets/scale]
  verbs: [patch]
- apiGroups: [operator.penstock, slinky.slurm.net]
  resources: [controllers/finalizers, nodesets/finalizers, accountings/finalizers, restapis/finalizers, loginsets/finalizers, tokens/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [services, configmaps, secrets]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [list, watch, create, patch]
- apiGroups: [apps]
  resources: [statefulsets, deployments]
  verbs: [get, list, watch, create, patch]
- apiGroups: [apps]
  resources: [controllerrevisions]
  verbs: [list, watch, create, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch]
- apiGroups: [monitoring.coreos.com]
  resources: [servicemonitors]
  verbs: [get, list, watch, create, patch, delete]
{{- end }}
