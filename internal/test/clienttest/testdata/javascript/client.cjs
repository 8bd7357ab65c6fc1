// Makes every call of an existing client's library, which stands in node_modules
// beside this file, and prints a line for each that did what it should.
//
//   node client.cjs LIBRARY HTTP_LIBRARY BASE_URL USER PASSWORD TOKEN

const [library, httpLibrary, base, user, password, token] = process.argv.slice(2)
const sdk = require(library)
const http = require(httpLibrary)
const { hostname, port, pathname } = new URL(base)

const connect = sdk.axiosConnector(http.default ?? http)(sdk.default)
// A browser sends the text null where there is nothing to send.
const connectInBrowser = sdk.default(
  (url, data, headers) => fetch(url, { method: 'POST', headers, body: JSON.stringify(data) }).then(json),
  (url, _, headers) => fetch(url, { headers }).then(json))

const json = async (answer) => ({ status: answer.status, data: await answer.json() })
const at = (connector) => connector(hostname, pathname.slice(1), Number(port))

function check(what, holds, seen) {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(seen)?.slice(0, 500)}`)
}

async function refused(promise) {
  try {
    return { status: 200, data: (await promise).data }
  } catch (error) {
    if (!error.response) throw error
    return error.response
  }
}

async function calls() {
  const v1 = at(connect).withCreds(user, password)
  const project = (await v1.create('Scope', { Name: 'Shop', Parent: 'Scope:0', BeginDate: '2026-01-01' })).data.id
  const scope = project.slice(0, project.lastIndexOf(':'))

  const list = {
    'create, with a relation and values by name': async () => {
      const { data } = await v1.create('Story', { Name: 'Pay & <go>', Scope: scope, Status: 'In Progress', Estimate: 3, Owners: ['Member:20'] })
      check('id', /^Story:\d+:\d+$/.test(data.id), data)
      check('echo', data.Attributes.Name.value === 'Pay & <go>' && data.Attributes.Scope.value.idref === scope, data)
      list.story = data.id.slice(0, data.id.lastIndexOf(':'))
    },
    'update, with a comment, values and removals': async () => {
      const { data } = await v1.update(list.story, { Name: () => 'Paid', Estimate: null, Owners: [{ idref: 'Member:20', act: 'remove' }] }, "it's done")
      check('echo', data.Attributes.Name.value === 'Paid' && data.Attributes.Estimate.value === null && data.Attributes.Owners.value.length === 0, data)
    },
    'query': async () => {
      const { data } = await v1.query({ from: 'Story', select: ['Name', 'Scope', 'Status.Name', 'Owners', 'ChangeComment'], where: { ID: list.story } })
      check('rows', data.length === 1 && data[0].length === 1, data)
      const row = data[0][0]
      check('row', row._oid === list.story && row.Name === 'Paid' && row.Scope._oid === scope && row['Status.Name'] === 'In Progress' && row.Owners.length === 0, row)
      check('comment', row.ChangeComment === "it's done", row)
    },
    'executeOperation': async () => {
      const { data } = await v1.executeOperation(list.story, 'QuickClose')
      check('id', data.id.startsWith(list.story + ':'), data)
      const again = await v1.query({ from: 'Story', select: ['AssetState'], where: { ID: list.story } })
      check('state', again.data[0][0].AssetState === 'Closed', again.data)
    },
    'executeOperation in a browser, which sends null': async () => {
      const { status, data } = await at(connectInBrowser).withCreds(user, password).executeOperation(list.story, 'Reactivate')
      check('id', status === 200 && data.id.startsWith(list.story + ':'), data)
    },
    'queryDefinition of a type': async () => {
      const { data } = await v1.queryDefinition('Story')
      check('type', data.Token === 'Story' && data.Attributes['Story.Name'].AttributeType === 'Text' && data.Attributes['Story.Scope'].RelatedAsset.nameref === 'Scope', data)
    },
    'queryDefinition of all types': async () => {
      const { data } = await v1.queryDefinition()
      check('types', data.AssetTypes.Story.Token === 'Story' && data.AssetTypes.Member, Object.keys(data))
    },
    'getActivityStream': async () => {
      const { data } = await v1.getActivityStream(list.story)
      check('activities', Array.isArray(data) && data.some(({ body }) => body.verb === 'Created' && body.object.id === list.story), data)
    },
    'withAccessToken': async () => {
      const { data } = await at(connect).withAccessToken(token).query({ from: 'Member', select: ['Username'], where: { IsSelf: true } })
      check('member', data[0][0].Username === user, data)
    },
    'a wrong attribute is refused with a message': async () => {
      const { status, data } = await refused(v1.create('Story', { Nmae: 'x', Scope: scope }))
      check('refusal', status === 400 && data.exceptions[0].message === 'Unknown AttributeDefinition: Story.Nmae', data)
    },
    'a request for an asset that does not exist': async () => {
      const { status, data } = await refused(v1.update('Story:99999999', { Name: 'x' }))
      check('refusal', status === 404 && data.exceptions[0].message === 'Not Found', data)
    },
    'a wrong password': async () => {
      const { status } = await refused(at(connect).withCreds(user, 'wrong').query({ from: 'Story', select: ['Name'] }))
      check('refusal', status === 401, status)
    },
  }
  return list
}

calls().then(async (list) => {
  for (const [what, call] of Object.entries(list)) {
    await call().catch((error) => { throw new Error(`${what}: ${error.message} ${JSON.stringify(error.response?.data)?.slice(0, 500)}`) })
    console.log(what)
  }
  console.log('done')
}).catch((error) => {
  console.error(error.message)
  process.exitCode = 1
})
