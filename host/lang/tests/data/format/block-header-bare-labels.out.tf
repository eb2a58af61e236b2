resource "aws_instance" "web" {
  ami = 1
}
data "aws_ami" "ubuntu" {
}
variable "name-with-dash" {
}
module "a" {
}
