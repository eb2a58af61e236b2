output "values" {
  value     = { for name, secret in random_password.secret : name => secret.result }
  sensitive = true
}

output "files" {
  value = { for name, file in local_sensitive_file.secret : name => file.filename }
}
