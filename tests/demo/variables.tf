variable "project" {
  description = "Short name of the project; part of every generated name."
  type        = string

  validation {
    condition     = length(var.project) >= 3 && length(var.project) <= 16
    error_message = "The project name must have 3 to 16 characters."
  }
}

variable "environment" {
  description = "Which environment this is."
  type        = string
  default     = "staging"

  validation {
    condition     = contains(["development", "staging", "production"], var.environment)
    error_message = "The environment must be development, staging or production."
  }
}

variable "zones" {
  description = "Zones that the platform may use."
  type        = list(string)
  default     = ["a", "b", "c"]
}

variable "services" {
  description = "What runs on the platform, by name."
  type = map(object({
    version  = string
    replicas = number
    port     = number
    public   = optional(bool, false)
  }))
}

variable "secret_names" {
  description = "Secrets to generate."
  type        = set(string)
  default     = ["database", "queue", "session"]
}

variable "operator_token" {
  description = "Token with which operators sign in."
  type        = string
  sensitive   = true
}

variable "tags" {
  description = "Free labels, written to the inventory."
  type        = map(string)
  default     = {}
}
