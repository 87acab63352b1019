module muster.dev/e2e/fields/table

go 1.26.0
