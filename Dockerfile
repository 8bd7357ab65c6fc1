# The image has one static program for each role: /api, /worker, /scheduler and /standalone. The
# command of the container selects the program. The api listens on $PORT, by default 8080.
# standalone needs ALDS_ADDR=:8080 in a container, because it listens on loopback by default.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/...

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/ /
ENV ALDS_ADMIN_ADDR=:9090
EXPOSE 8080 9090
CMD ["/api"]
