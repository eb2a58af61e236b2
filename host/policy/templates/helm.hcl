providers = ["hashicorp/helm"]

notes = [
  "Remove the programs that your kubeconfig and your Docker configuration do not name.",
]

hosts {
  description = "the host of the cluster's API, and the hosts of chart repositories and OCI registries"
}

allow network {
  hosts     = ["{hosts}"]
  ports     = ["443", "6443"]
  addresses = ["public", "private", "loopback"]
  reason    = "the cluster's API, repositories and registries"
}

allow filesystem {
  directories = [
    "~/.kube/config",
    "~/.config/helm",
    "~/.docker/config.json",
    "/var/run/secrets/kubernetes.io/serviceaccount",
  ]
  reason = "the kubeconfig, Helm's settings, and credentials of registries"
}

allow filesystem {
  directories = ["$KUBE_CONFIG_PATH", "$KUBE_CONFIG_PATHS"]
  reason      = "files that environment variables name"
}

allow filesystem {
  directories = ["~/.cache/helm"]
  access      = ["read", "write"]
  reason      = "downloaded charts"
}

allow environment {
  names  = ["HELM_*", "KUBE_*", "KUBERNETES_*"]
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

allow process {
  program   = "docker-credential-*"
  arguments = ["get"]
  reason    = "credentials of registries"
}
