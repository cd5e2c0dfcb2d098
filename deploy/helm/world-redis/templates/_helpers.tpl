{{- define "world-redis.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "world-redis.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "world-redis.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "world-redis.selectorLabels" -}}
app.kubernetes.io/name: {{ include "world-redis.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "world-redis.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "world-redis.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "world-redis.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "world-redis.secretName" -}}
{{- default (include "world-redis.fullname" .) .Values.secret.existingSecret -}}
{{- end -}}

{{- define "world-redis.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "world-redis.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* Nine tenths of the memory limit, for GOMEMLIMIT: the rest is for what Go's heap does not count. Empty without a limit in Mi or Gi. */ -}}
{{- define "world-redis.goMemLimit" -}}
{{- $limit := toString (default "" (default dict .Values.resources.limits).memory) -}}
{{- if regexMatch "^[0-9.]+Mi$" $limit -}}
{{- printf "%dMiB" (int (mulf (trimSuffix "Mi" $limit | float64) 0.9)) -}}
{{- else if regexMatch "^[0-9.]+Gi$" $limit -}}
{{- printf "%dMiB" (int (mulf (trimSuffix "Gi" $limit | float64) 921.6)) -}}
{{- end -}}
{{- end -}}

{{- /* preStop has the action sleep since Kubernetes 1.30; the image has no shell that could sleep. */ -}}
{{- define "world-redis.preStopSeconds" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{- .Values.preStopSeconds -}}
{{- else -}}
0
{{- end -}}
{{- end -}}
