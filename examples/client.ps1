# A client of alds: creates a project, queries it, and receives a change by webhook.
#
#     pwsh -File client.ps1
#
# ALDS_URL is the URL of the service, ALDS_USER and ALDS_PASSWORD are the login. If
# ALDS_TOKEN is set, this access token is used instead of the login. The program needs
# PowerShell 7 and no modules.

#Requires -Version 7.0
Set-StrictMode -Version 1.0
$ErrorActionPreference = 'Stop' # any error ends the program with its message

function Get-Setting($Name, $Default) {
    $value = [Environment]::GetEnvironmentVariable($Name)
    if ($value) { $value } else { $Default }
}

$url = Get-Setting ALDS_URL 'http://127.0.0.1:8080/alds'
$login = "$(Get-Setting ALDS_USER admin):$(Get-Setting ALDS_PASSWORD admin)"
$authorization = 'Basic ' + [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($login))
if ($env:ALDS_TOKEN) { $authorization = "Bearer $env:ALDS_TOKEN" }

$patience = [TimeSpan]::FromMinutes(1) # how long to wait for the event
$tolerance = 300 # maximum difference between the time of a delivery and our clock, in seconds
$largest = 16MB # maximum size of a delivery

# Sends a POST request, and returns the body and the headers of the answer.
function Send-Request($Path, $Body) {
    $request = @{
        Method = 'Post'
        Uri = "$url/$Path"
        Headers = @{ Authorization = $authorization; Accept = 'application/json' }
        ContentType = 'application/json; charset=utf-8'
        Body = ConvertTo-Json -InputObject $Body -Depth 10
        TimeoutSec = 30
    }
    $answer = Invoke-RestMethod @request -ResponseHeadersVariable headers
    @{ Body = $answer; Headers = $headers }
}

# Sends one command. If a part of it fails, the service changes nothing and answers with status 200.
function Send-Command($Command) {
    $answer = (Send-Request 'api/asset?atomic=true' $Command).Body
    foreach ($failed in $answer.commandFailures.commands) { throw $failed.error.message }
    $answer
}

# Creates a project. Assets nested in it are created with it, and are related to it.
function New-Project {
    $answer = Send-Command @{
        AssetType = 'Scope'; Name = 'Web shop'; Parent = 'Scope:0'; BeginDate = '2026-01-01'
        Workitems = @(
            @{ AssetType = 'Story'; Name = 'Browse the catalogue'; Estimate = 3 }
            @{ AssetType = 'Story'; Name = 'Gift wrap'; Estimate = 1 }
            @{ AssetType = 'Story'; Name = 'Pay by card'; Estimate = 8; Children = @(
                @{ AssetType = 'Task'; Name = 'Choose a provider' }
                @{ AssetType = 'Task'; Name = 'Send the receipt' }
            ) }
        )
    }
    $created = @($answer.assetsCreated.oidTokens) # in the order of the request
    Write-Host "created $($created[0]) and $($created.Count - 1) assets in it"
    $created[0]
}

function Show-Story($Project) {
    $answer = Send-Request 'query.v1' @{
        from = 'Story'; where = @{ Scope = $Project }; sort = @('-Estimate')
        select = @('Name', 'Estimate', @{ from = 'Children:Task'; select = @('Name') })
    }
    foreach ($story in $answer.Body[0]) { # the answer has a list of rows for each query
        $tasks = $story.'Children:Task'.Name -join ', '
        if (-not $tasks) { $tasks = 'no tasks' }
        Write-Host "$($story._oid) $($story.Name), estimate $($story.Estimate): $tasks"
    }
}

# Reads the stories page by page. With a cursor, no story is repeated or skipped if other
# stories are created meanwhile.
function Show-Page($Project) {
    $after = ''
    while ($null -ne $after) {
        $answer = Send-Request 'query.v1' @{
            from = 'Story'; where = @{ Scope = $Project }; select = @('Name'); sort = @('Name')
            page = @{ size = 2; after = $after }
        }
        Write-Host "page: $($answer.Body[0].Name -join ', ')"
        $pages = @($answer.Headers['Alds-Result'] -join '' | ConvertFrom-Json)
        $after = $pages[0].next # null after the last page
    }
}

# Returns whether the sender of the body knows the secret and sent the body recently.
function Test-Signature($Secret, $Headers, [byte[]] $Body) {
    $id, $sent = $Headers['Webhook-Id'], $Headers['Webhook-Timestamp']
    $now = [DateTimeOffset]::UtcNow.ToUnixTimeSeconds()
    if ($sent -notmatch '^[0-9]{1,12}$' -or [Math]::Abs($now - [long] $sent) -gt $tolerance) { return $false }
    $key = [Convert]::FromBase64String($Secret.Replace('whsec_', ''))
    $hmac = [Security.Cryptography.HMACSHA256]::new($key)
    [byte[]] $signed = [Text.Encoding]::UTF8.GetBytes("$id.$sent.") + $Body
    [byte[]] $expected = [Text.Encoding]::UTF8.GetBytes('v1,' + [Convert]::ToBase64String($hmac.ComputeHash($signed)))
    foreach ($text in "$($Headers['Webhook-Signature'])".Split(' ')) { # there are two while a secret is being replaced
        [byte[]] $signature = [Text.Encoding]::UTF8.GetBytes($text)
        if ([Security.Cryptography.CryptographicOperations]::FixedTimeEquals($signature, $expected)) { return $true }
    }
    $false
}

# Waits for a delivery of the service, answers it with 204, and returns its events. All other
# requests are answered with 401.
function Receive-Event($Listener, $Secret) {
    $deadline = [DateTime]::UtcNow + $patience
    while ($true) {
        $coming = $Listener.GetContextAsync()
        $left = $deadline - [DateTime]::UtcNow
        if ($left -le [TimeSpan]::Zero -or -not $coming.Wait($left)) { throw 'no event came' }
        $context = $coming.Result
        $body = [IO.MemoryStream]::new()
        $length = $context.Request.ContentLength64
        if ($length -ge 0 -and $length -le $largest) { $context.Request.InputStream.CopyTo($body) }
        $genuine = Test-Signature $Secret $context.Request.Headers $body.ToArray()
        $context.Response.StatusCode = if ($genuine) { 204 } else { 401 }
        $context.Response.Close()
        if ($genuine) { return ([Text.Encoding]::UTF8.GetString($body.ToArray()) | ConvertFrom-Json).events }
    }
}

function Show-Event($Received) {
    $story = $Received.snapshot[0] # the story as it was after the change
    Write-Host "$($story._oid) $($story.Name) is $($story.'Status.Name'), by $($Received.instigator.name)"
    foreach ($change in $Received.changes) {
        Write-Host "  $($change.name): $(Format-Value $change.old) -> $(Format-Value $change.new)"
    }
}

function Format-Value($Value) {
    if ($null -eq $Value) { 'nothing' }
    elseif ($Value.PSObject.Properties['_oid']) { $Value._oid }
    else { $Value }
}

function Watch-Change($Project) {
    $free = [Net.Sockets.TcpListener]::new([Net.IPAddress]::Loopback, 0) # 0: any free port
    $free.Start()
    $address = "http://$($free.LocalEndpoint)/"
    $free.Stop()
    $listener = [Net.HttpListener]::new()
    $listener.Prefixes.Add($address)
    $listener.Start()
    $hook = $null
    try {
        $hook = (Send-Request 'api/webhook' @{
            webhookId = 'example'; url = $address; secret = 'generate'
            eventTypes = @(@{
                type = 'AssetChanged'; from = 'Story'; attributes = @('Status', 'Estimate')
                filter = @('Scope=$Project'); with = @{ '$Project' = $Project }; select = @('Name', 'Status.Name')
            })
        }).Body
        $null = Send-Command @{
            from = 'Story'; where = @{ Scope = $Project; Name = 'Pay by card' }
            update = @{ Status = 'In Progress'; Estimate = 5 }
        }
        # only this answer of the service shows the secret
        foreach ($received in Receive-Event $listener $hook.secret) { Show-Event $received }
    } finally {
        if ($hook) {
            $null = Send-Request "api/webhook/delete/$($hook.id)" $null
            Write-Host 'subscription deleted'
        }
        $listener.Close()
    }
}

$project = New-Project
Show-Story $project
Show-Page $project
Watch-Change $project
