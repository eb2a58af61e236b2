providers = ["hashicorp/kubernetes"]

notes = [
  "Remove the programs that your kubeconfig does not name.",
]

hosts {
  description = "the host of the cluster's API, as in the kubeconfig"
}

allow network {
  hosts     = ["{hosts}"]
  ports     = ["443", "6443"]
  addresses = ["public", "private", "loopback"]
  reason    = "the cluster's API"
}

allow filesystem {
  directories = ["~/.kube/config", "/var/run/secrets/kubernetes.io/serviceaccount"]
  reason      = "the kubeconfig, and the service account of a pod"
}

allow filesystem {
  directories = ["$KUBE_CONFIG_PATH", "$KUBE_CONFIG_PATHS"]
  reason      = "files that environment variables name"
}

allow environment {
  names  = ["KUBE_*", "KUBERNETES_*"]
  reason = "credentials and settings"
}

allow process {
  program   = "aws"
  arguments = ["eks", "get-token", "..."]
  reason    = "tokens for the cluster"
}

allow process {
  program   = "aws"
  arguments = ["--region", "*", "eks", "get-token", "..."]
  reason    = "tokens for the cluster"
}

allow process {
  program   = "aws-iam-authenticator"
  arguments = ["token", "..."]
  reason    = "tokens for the cluster"
}

allow process {
  program   = "gke-gcloud-auth-plugin"
  arguments = []
  reason    = "tokens for the cluster"
}

allow process {
  program   = "kubelogin"
  arguments = ["get-token", "..."]
  reason    = "tokens for the cluster"
}

allow process {
  program   = "doctl"
  arguments = ["kubernetes", "cluster", "kubeconfig", "exec-credential", "..."]
  reason    = "tokens for the cluster"
}
