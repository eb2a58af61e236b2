a="${b}"
region="eu"
tags={
a="b"
ccc="d"
}
list=[
"a",
]
variable "x" {
type="list"
}
