providers = ["hashicorp/aws", "hashicorp/awscc"]

notes = [
  "A profile with credential_process runs a program, which needs a process rule.",
]

allow network {
  hosts  = ["**.amazonaws.com", "**.api.aws", "**.amazonaws.com.cn"]
  reason = "the AWS APIs"
}

allow filesystem {
  directories = ["~/.aws/config", "~/.aws/credentials", "~/.aws/sso/cache"]
  reason      = "profiles and the tokens of single sign-on"
}

allow filesystem {
  directories = ["$AWS_CONFIG_FILE", "$AWS_SHARED_CREDENTIALS_FILE", "$AWS_WEB_IDENTITY_TOKEN_FILE", "$AWS_CA_BUNDLE"]
  reason      = "files that environment variables name"
}

allow environment {
  names  = ["AWS_*", "TF_AWS_*"]
  reason = "credentials and settings"
}

instance_credentials {
  allow network {
    hosts   = ["169.254.169.254", "fd00:ec2::254", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"]
    schemes = ["http"]
    reason  = "the credentials of the instance, task or pod"
  }
}
