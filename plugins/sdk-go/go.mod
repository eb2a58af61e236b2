module wardian.dev/sdk-go

go 1.24
