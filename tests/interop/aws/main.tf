# What `cargo xtask interop aws` plans, applies, changes and destroys with both
# programs, against a server that plays AWS on this machine.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}

variable "endpoint" {
  type = string
}

# What changes in place when this does.
variable "revision" {
  type    = string
  default = "one"
}

# What is replaced when this changes.
variable "generation" {
  type    = string
  default = "first"
}

provider "aws" {
  region                      = "eu-central-1"
  access_key                  = "testing"
  secret_key                  = "testing"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  s3_use_path_style           = true

  default_tags {
    tags = {
      project = "interop"
    }
  }

  endpoints {
    cloudwatch     = var.endpoint
    cloudwatchlogs = var.endpoint
    dynamodb       = var.endpoint
    ec2            = var.endpoint
    events         = var.endpoint
    iam            = var.endpoint
    kms            = var.endpoint
    lambda         = var.endpoint
    route53        = var.endpoint
    s3             = var.endpoint
    secretsmanager = var.endpoint
    sns            = var.endpoint
    sqs            = var.endpoint
    ssm            = var.endpoint
    sts            = var.endpoint
  }
}

locals {
  tags = {
    revision = var.revision
  }
}

# Storage

resource "aws_s3_bucket" "code" {
  bucket        = "interop-code"
  force_destroy = true
  tags          = local.tags
}

resource "aws_s3_bucket_versioning" "code" {
  bucket = aws_s3_bucket.code.id
  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_object" "handler" {
  bucket         = aws_s3_bucket.code.id
  key            = "handler-${var.generation}.zip"
  content_base64 = "UEsDBBQAAAAAAAAAIQC0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhALQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAIABAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA=="
  depends_on     = [aws_s3_bucket_versioning.code]
}

resource "aws_dynamodb_table" "orders" {
  name         = "orders"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "customer"
  range_key    = "number"
  tags         = local.tags

  attribute {
    name = "customer"
    type = "S"
  }
  attribute {
    name = "number"
    type = "N"
  }
}

# Messages

resource "aws_sqs_queue" "plain" {
  name                       = "orders-${var.generation}"
  visibility_timeout_seconds = var.revision == "one" ? 30 : 45
  tags                       = local.tags
}

resource "aws_sqs_queue_policy" "plain" {
  queue_url = aws_sqs_queue.plain.id
  policy    = data.aws_iam_policy_document.queue.json
}

resource "aws_sns_topic" "news" {
  name         = "news"
  display_name = "News ${var.revision}"
}

resource "aws_sns_topic_subscription" "news" {
  topic_arn = aws_sns_topic.news.arn
  protocol  = "sqs"
  endpoint  = aws_sqs_queue.plain.arn
}

# People and rights

resource "aws_iam_role" "worker" {
  name               = "worker"
  description        = "Works, revision ${var.revision}"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_policy" "reading" {
  name   = "reading"
  policy = data.aws_iam_policy_document.reading.json
}

resource "aws_iam_role_policy_attachment" "reading" {
  role       = aws_iam_role.worker.name
  policy_arn = aws_iam_policy.reading.arn
}

resource "aws_iam_role_policy" "own" {
  name   = "own"
  role   = aws_iam_role.worker.id
  policy = data.aws_iam_policy_document.reading.json
}

resource "aws_iam_user" "person" {
  name = "person"
  path = "/people/"
}

resource "aws_iam_group" "people" {
  name = "people"
}

resource "aws_iam_instance_profile" "worker" {
  name = "worker"
  role = aws_iam_role.worker.name
}

# Networks

resource "aws_vpc" "main" {
  cidr_block           = "10.1.0.0/16"
  enable_dns_hostnames = true
  tags                 = merge(local.tags, { Name = "main" })
}

resource "aws_subnet" "parts" {
  for_each          = { a = 1, b = 2 }
  vpc_id            = aws_vpc.main.id
  cidr_block        = cidrsubnet(aws_vpc.main.cidr_block, 8, each.value)
  availability_zone = data.aws_availability_zones.all.names[each.value - 1]
}

resource "aws_internet_gateway" "main" {
  vpc_id = aws_vpc.main.id
}

resource "aws_route_table" "main" {
  vpc_id = aws_vpc.main.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.main.id
  }
}

resource "aws_route_table_association" "parts" {
  for_each       = aws_subnet.parts
  subnet_id      = each.value.id
  route_table_id = aws_route_table.main.id
}

resource "aws_security_group" "web" {
  name        = "web-${var.generation}"
  description = "Web"
  vpc_id      = aws_vpc.main.id
}

resource "aws_vpc_security_group_ingress_rule" "https" {
  security_group_id = aws_security_group.web.id
  cidr_ipv4         = "10.0.0.0/8"
  from_port         = 443
  to_port           = 443
  ip_protocol       = "tcp"
  description       = "https ${var.revision}"
}

# Work

resource "aws_lambda_function" "handler" {
  function_name = "handler"
  role          = aws_iam_role.worker.arn
  runtime       = "python3.12"
  handler       = "index.handler"
  s3_bucket     = aws_s3_bucket.code.id
  s3_key        = aws_s3_object.handler.key
  memory_size   = var.revision == "one" ? 128 : 256

  environment {
    variables = {
      QUEUE = aws_sqs_queue.plain.url
    }
  }
}

resource "aws_cloudwatch_log_group" "handler" {
  name              = "/aws/lambda/handler"
  retention_in_days = var.revision == "one" ? 7 : 14
}

resource "aws_cloudwatch_metric_alarm" "errors" {
  alarm_name          = "errors"
  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 2
  metric_name         = "Errors"
  namespace           = "AWS/Lambda"
  period              = 60
  statistic           = "Sum"
  threshold           = var.revision == "one" ? 1 : 5
  dimensions = {
    FunctionName = aws_lambda_function.handler.function_name
  }
}

resource "aws_cloudwatch_event_rule" "hourly" {
  name                = "hourly"
  schedule_expression = "rate(1 hour)"
  description         = "revision ${var.revision}"
}

# Settings and secrets

resource "aws_ssm_parameter" "setting" {
  name  = "/interop/setting"
  type  = "String"
  value = var.revision
}

resource "aws_kms_key" "main" {
  description             = "revision ${var.revision}"
  deletion_window_in_days = 7
}

resource "aws_kms_alias" "main" {
  name          = "alias/interop-${var.generation}"
  target_key_id = aws_kms_key.main.key_id
}

resource "aws_secretsmanager_secret" "password" {
  name                    = "interop/password"
  recovery_window_in_days = 0
}

resource "aws_secretsmanager_secret_version" "password" {
  secret_id     = aws_secretsmanager_secret.password.id
  secret_string = "not very secret: ${var.revision}"
}

# Names

resource "aws_route53_zone" "main" {
  name    = "interop.example"
  comment = "revision ${var.revision}"
}

resource "aws_route53_record" "www" {
  zone_id = aws_route53_zone.main.zone_id
  name    = "www"
  type    = "A"
  ttl     = var.revision == "one" ? 300 : 600
  records = ["192.0.2.1", "192.0.2.2"]
}

# What is read

data "aws_caller_identity" "me" {}

data "aws_region" "here" {}

data "aws_partition" "here" {}

data "aws_availability_zones" "all" {
  state = "available"
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["lambda.amazonaws.com"]
    }
  }
}

data "aws_iam_policy_document" "reading" {
  statement {
    sid       = "read"
    actions   = ["s3:GetObject"]
    resources = ["${aws_s3_bucket.code.arn}/*"]
  }
}

data "aws_iam_policy_document" "queue" {
  statement {
    actions   = ["sqs:SendMessage"]
    resources = ["*"]
    principals {
      type        = "AWS"
      identifiers = ["arn:${data.aws_partition.here.partition}:iam::${data.aws_caller_identity.me.account_id}:root"]
    }
  }
}

data "aws_vpc" "main" {
  id = aws_vpc.main.id
}

data "aws_subnet" "first" {
  id = aws_subnet.parts["a"].id
}

data "aws_s3_bucket" "code" {
  bucket = aws_s3_bucket.code.id
}

data "aws_sqs_queue" "plain" {
  name = aws_sqs_queue.plain.name
}

data "aws_ssm_parameter" "setting" {
  name = aws_ssm_parameter.setting.name
}

data "aws_iam_role" "worker" {
  name = aws_iam_role.worker.name
}

data "aws_route53_zone" "main" {
  zone_id = aws_route53_zone.main.zone_id
}

output "region" {
  value = data.aws_region.here.name
}

output "queue" {
  value = data.aws_sqs_queue.plain.arn
}

output "setting" {
  value     = data.aws_ssm_parameter.setting.value
  sensitive = true
}

output "block" {
  value = data.aws_vpc.main.cidr_block
}
