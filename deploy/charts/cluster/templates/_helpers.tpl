{{- define "cluster.name" -}}
{{ .Values.fullnameOverride | default .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "cluster.labels" -}}
app.kubernetes.io/part-of: penstock
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "cluster.isOurs" -}}
{{ if hasPrefix "operator.penstock/" .Values.apiVersion }}yes{{ end }}
{{- end }}

{{- /* Lines of a configuration: the text, then the map in order of keys; lists and maps with commas. */}}
{{- define "cluster.conf" -}}
{{- with .extraConf }}{{ trim . }}{{ "\n" }}{{ end -}}
{{- range $key, $value := .extraConfMap }}
{{- if kindIs "slice" $value }}
{{- $key }}={{ join "," $value }}
{{- else if kindIs "map" $value }}
{{- $words := list }}{{ range $k, $v := $value }}{{ $words = append $words (printf "%s=%v" $k $v) }}{{ end }}
{{- $key }}={{ join "," $words }}
{{- else }}
{{- $key }}={{ $value }}
{{- end }}{{ "\n" }}
{{- end -}}
{{- end }}

{{- /* Words Key=value of slurmd --conf. */}}
{{- define "cluster.words" -}}
{{ include "cluster.conf" . | trim | replace "\n" " " }}
{{- end }}

{{- /* A container, with the pull policy of all. */}}
{{- define "cluster.container" -}}
{{- $container := deepCopy .container }}
{{- with .root.Values.imagePullPolicy }}{{ $container = merge $container (dict "imagePullPolicy" .) }}{{ end }}
{{- toYaml $container }}
{{- end }}

{{- /* template of a resource: metadata and podSpec, with the priority class of all. */}}
{{- define "cluster.template" -}}
{{- $spec := deepCopy (.of.podSpec | default dict) }}
{{- if and .root.Values.priorityClass.enabled (not (hasKey $spec "priorityClassName")) }}
{{- $_ := set $spec "priorityClassName" .root.Values.priorityClass.name }}
{{- end }}
{{- with .of.hostname }}{{ $_ := set $spec "hostname" . }}{{ end }}
{{- $template := dict }}
{{- with .of.metadata }}{{ $_ := set $template "metadata" . }}{{ end }}
{{- if $spec }}{{ $_ := set $template "spec" $spec }}{{ end }}
{{- if $template }}template:
{{ toYaml $template | indent 2 }}{{ end }}
{{- end }}

{{- /* Does a key come from a Secret that is named?  Its reference, or nothing. */}}
{{- define "cluster.keys" -}}
{{- $name := include "cluster.name" . }}
{{- $ours := include "cluster.isOurs" . }}
{{- if .Values.slurmKey.secretRef.name }}
slurmKeyRef: {{ toJson .Values.slurmKey.secretRef }}
{{- else if or (not $ours) (not .Values.slurmKey.create) }}
slurmKeyRef: {name: {{ $name }}-auth-slurm, key: slurm.key}
{{- end }}
{{- if .Values.jwtKey.secretRef.name }}
jwtKeyRef: {{ toJson .Values.jwtKey.secretRef }}
{{- else if or (not $ours) (not .Values.jwtKey.create) }}
jwtKeyRef: {name: {{ $name }}-auth-jwt, key: jwt.key}
{{- end }}
{{- if .Values.jwksKeys.enabled }}
jwksKeyRef: {name: {{ .Values.jwksKeys.configMapRef.name | default (printf "%s-auth-jwks" $name) }}, key: {{ .Values.jwksKeys.configMapRef.key }}}
{{- end }}
{{- end }}

{{- /* The reference to sssd.conf. */}}
{{- define "cluster.sssd" -}}
{{ if .Values.sssd.secretRef.name }}{{ toJson .Values.sssd.secretRef }}{{ else }}{name: {{ include "cluster.name" . }}-sssd-conf, key: sssd.conf}{{ end }}
{{- end }}
