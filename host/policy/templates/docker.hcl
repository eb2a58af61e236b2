providers = ["kreuzwerker/docker"]

warning = "Access to /var/run/docker.sock is equivalent to root access on this machine: a container can mount every directory."

hosts {
  description = "registries, and a Docker server that is reached over TCP"
  default     = []
}

allow network {
  hosts     = ["{hosts}"]
  ports     = ["443", "2376"]
  addresses = ["public", "private"]
  reason    = "registries and the Docker server"
}

allow filesystem {
  directories = ["/var/run/docker.sock"]
  access      = ["connect"]
  reason      = "the Docker server, which is equivalent to root access"
}

allow filesystem {
  directories = ["~/.docker/config.json"]
  reason      = "credentials of registries"
}

allow filesystem {
  directories = ["$DOCKER_CERT_PATH"]
  reason      = "files that environment variables name"
}

allow environment {
  names  = ["DOCKER_*"]
  reason = "credentials and settings"
}

allow process {
  program   = "docker-credential-*"
  arguments = ["get"]
  reason    = "credentials of registries"
}

allow process {
  program   = "ssh"
  arguments = ["-o", "ConnectTimeout=30", "-T", "--", "*", "docker", "system", "dial-stdio"]
  reason    = "a Docker server that is reached over SSH"
}

allow process {
  program   = "ssh"
  arguments = ["-o", "ConnectTimeout=30", "-T", "-l", "*", "--", "*", "docker", "system", "dial-stdio"]
  reason    = "a Docker server that is reached over SSH"
}
